# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# GNU Octave under the shim: another language, the Fortran names, the same results.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/hosts/recorded.sh"

if ! command -v octave-cli >/dev/null; then
    skip "octave" "octave is not installed"
    finish
fi
cat >"$work/products.m" <<'END'
function show(name, x)
  if iscomplex(x) x = [real(x), imag(x)]; end
  printf("%s %s\n", name, hash("sha256", char(typecast(x(:)', "uint8"))));
end
rand("twister", 7); randn("twister", 7);
sizes = [1 1 1; 3 5 7; 64 32 128; 129 257 65; 1 300 200; 300 1 200];
for row = 1:rows(sizes)
  m = sizes(row, 1); n = sizes(row, 2); k = sizes(row, 3);
  a = randn(m, k); b = randn(k, n);
  label = sprintf("%d %d %d", m, n, k);
  show(["double " label], a * b);
  show(["single " label], single(a) * single(b));
  show(["complex " label], (a + 2i * a) * (b - 1i * b));
  show(["transposed " label], b' * a');
  show(["syrk " label], a * a');
end
x = randn(60);
show("solve", x \ ones(60, 1)); show("inverse", inv(x)); show("singular", svd(x));
show("eigen", eig(x + x')); show("determinant", det(x));
END
check "results are the same to the last bit" identical products octave-cli --quiet --no-gui \
    --norc "$work/products.m"
check "the script printed its hashes" grep -q "determinant [0-9a-f]\{64\}" "$work/products.shim"
check "every call is accounted for" accounts "$work/products" 30
finish
