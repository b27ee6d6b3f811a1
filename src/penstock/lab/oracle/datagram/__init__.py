"""What the applications of the datagram service saw, and which promises it keeps."""
