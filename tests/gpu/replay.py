#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The acceptance of the replay on a GPU: run every case, print TAP, write the figures.

Called by run.sh, which looks for the GPU.
"""

import sys

import capture
import replay_cases

if __name__ == "__main__":
    sys.exit(capture.main("replay", replay_cases.CASES, __doc__))
