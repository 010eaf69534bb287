"""What screens and commands say, as plain lines made from values; nothing here draws or decides."""
