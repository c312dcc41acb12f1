# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# scikit-learn's own tests of modules that live on BLAS pass under the shim.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/hosts/recorded.sh"

if ! $python -c 'import sklearn, pytest' 2>/dev/null; then
    skip "scikit-learn" "python3-sklearn or python3-pytest is not installed"
    finish
fi
cd "$work" || exit 1
for module in decomposition.tests.test_pca decomposition.tests.test_truncated_svd \
    linear_model.tests.test_base; do
    check "sklearn.$module passes" recorded "$work/$module" \
        $python -m pytest -q -p no:cacheprovider --pyargs sklearn.$module
    check "every call of $module is accounted for" accounts "$work/$module" 100
done
finish
