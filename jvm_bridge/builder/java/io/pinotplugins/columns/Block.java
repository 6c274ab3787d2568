package io.pinotplugins.columns;

import java.io.IOException;

/** The position in the file of some rows of one column. */
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

  Block(long[] positions, int first) {
    _rows = (int) positions[first];
    _valuesAt = positions[first + 1];
    _values = (int) positions[first + 2];
    _lengthsAt = positions[first + 3];
    _nullsAt = positions[first + 4];
    _nulls = (int) positions[first + 5];
    _endsAt = positions[first + 6];
    _texts = (int) positions[first + 7];
    _textAt = positions[first + 8];
  }

  /** Returns the number of values of each row of a multi-value column. */
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
