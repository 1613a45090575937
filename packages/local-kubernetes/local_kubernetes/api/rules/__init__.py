"""The rules of fields, and the definitions of custom resources."""
