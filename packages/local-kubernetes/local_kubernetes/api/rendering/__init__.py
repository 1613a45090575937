"""Tables and columns as kubectl shows them."""
