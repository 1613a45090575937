"""The built wheels, installed as users install them. `make installation` builds the wheels and runs these tests."""
