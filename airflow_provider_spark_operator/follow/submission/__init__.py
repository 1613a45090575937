"""Submit, adopt, replace, suspend and cancel an application."""
