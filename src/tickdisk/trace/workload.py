"""The program whose reads the captures are measured on: it reads a file N times, and prints for how many nanoseconds.

It is run by its path, as `workload.py FILE N`, and imports only the native core.
"""

import sys

from tickdisk._native import preads

if __name__ == "__main__":
    print(preads(sys.argv[1], int(sys.argv[2])))
