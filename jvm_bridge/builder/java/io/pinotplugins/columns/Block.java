package io.pinotplugins.columns;

import java.io.IOException;

/** Where the values of some rows of one column are in the file. */
final class Block {
  static final int FIELDS = 9;
  private static final int[] NONE = new int[0];

  final int _rows;
  final long _valuesAt;
  final int _values;
  private final long _lengthsAt;
  private final long _nullsAt;
  private final int _nulls;
  final long _endsAt;
  final int _texts;
  final long _textAt;

  Block(long[] places, int first) {
    _rows = (int) places[first];
    _valuesAt = places[first + 1];
    _values = (int) places[first + 2];
    _lengthsAt = places[first + 3];
    _nullsAt = places[first + 4];
    _nulls = (int) places[first + 5];
    _endsAt = places[first + 6];
    _texts = (int) places[first + 7];
    _textAt = places[first + 8];
  }

  /** Returns how many values each row has, of a multi-value column. */
  int[] lengths(ColumnFile file)
      throws IOException {
    return file.ints(_lengthsAt, _rows, NONE);
  }

  /** Returns which rows of the block are null. */
  int[] nulls(ColumnFile file)
      throws IOException {
    return _nulls == 0 ? NONE : file.ints(_nullsAt, _nulls, NONE);
  }
}
