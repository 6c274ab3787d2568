"""What every room shares and none owns: retries, waiting, names, masked secrets, folders, text for people."""
