"""Keeps four large blocks, each of which is one of malloc's and nothing else, and says how many bytes these are."""
SIZE = 50 << 20
kept = [None] * 4
for i in range(len(kept)):
    kept[i] = bytearray(SIZE)
print("kept", len(kept) * (SIZE + 1))  # a bytearray has a zero after its last byte
