"""What every verb uses: clients, errors, exit codes, signals, streams and names."""
