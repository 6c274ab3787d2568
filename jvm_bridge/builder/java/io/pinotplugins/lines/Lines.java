package io.pinotplugins.lines;

import java.nio.ByteBuffer;

/** Text in UTF-8 that is read row by row; each row ends with a line. Used by one thread. */
abstract class Lines {
  private static final int MAX_ROW_BYTES = 16 << 20;

  byte[] _bytes = new byte[0];
  /** The next byte to be read. */
  int _position;
  /** The end of the rows that can be read, which is behind a line break. */
  int _rowsEnd;
  /** The end of all bytes. */
  int _end;

  /**
   * Takes the next bytes; call it when there are no further rows.
   *
   * @param size the number of bytes; 0 at the end of the text
   */
  public void add(ByteBuffer block, int size) {
    int left = _end - _position;
    if (left > MAX_ROW_BYTES) {
      throw new UnsuitableException("a row has more than " + MAX_ROW_BYTES + " bytes");
    }
    byte[] bytes = _bytes;
    if (left + size + 1 > bytes.length) {
      bytes = new byte[left + size + 1];
    }
    System.arraycopy(_bytes, _position, bytes, 0, left);
    block.rewind();
    block.get(bytes, left, size);
    _bytes = bytes;
    _position = 0;
    _end = left + size;
    if (size == 0) {
      _bytes[_end++] = '\n';
    }
    _rowsEnd = size == 0 ? _end : endOfRows(left, _end);
  }

  /** Returns the end of the last complete row among the bytes between two positions; 0 if there is none. */
  abstract int endOfRows(int begin, int end);
}
