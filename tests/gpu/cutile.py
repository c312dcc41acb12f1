#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuTile, Triton and our CUDA kernels on a GPU, against the library and PyTorch: the figures.

Called by run.sh, which looks for the GPU.
"""

import sys

import capture
import cutile_cases

if __name__ == "__main__":
    sys.exit(capture.main("cutile", cutile_cases.CASES, __doc__))
