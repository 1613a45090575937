"""What earlier releases stored: `record.py` writes a folder for each release. This release must read all of them."""
