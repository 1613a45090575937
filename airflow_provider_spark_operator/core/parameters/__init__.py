"""The parameters of an application: fields, checks and grouped types."""
