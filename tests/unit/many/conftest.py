"""Tests are not a package, so what they share is imported from beside them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
