package io.pinotplugins.avro;

import java.io.IOException;

/**
 * Counts the items of a file's arrays and maps. Items may take no bytes, so that a count of five bytes can stand for
 * billions of them: a file may have as many as it has bytes, and a million more.
 */
final class Items {
  private static final long MOST_WITHOUT_BYTES = 1_000_000;

  private long _left = MOST_WITHOUT_BYTES;

  /** Adds the size of a block, unpacked. */
  void addBytes(long bytes) {
    _left += bytes;
  }

  /** Adds a number of items that are about to be read. */
  void add(long count)
      throws IOException {
    if (count > _left) {
      throw new IOException("its arrays and maps have more items than the file has bytes");
    }
    _left -= count;
  }
}
