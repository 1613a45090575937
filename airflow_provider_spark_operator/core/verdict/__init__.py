"""How an application ended, what it waits for, and what to do."""
