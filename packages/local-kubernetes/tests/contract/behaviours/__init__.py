"""The behaviours: each a script of requests whose answers are compared. One module for each topic."""
