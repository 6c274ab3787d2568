package io.pinotplugins.lines;

import io.pinotplugins.arrays.Numbers;
import io.pinotplugins.arrays.Texts;
import io.pinotplugins.arrays.Values;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads CSV into columns, without an object for each value, if commons-csv, which Pinot uses, would read the same: every
 * row has as many values as the header has names, and a quote is at the edge of a value or doubled.
 */
public final class CsvLines extends Lines {
  /** Adds a value, which is not empty, to a column. */
  private interface Reader {
    void read(byte[] bytes, int begin, int end);
  }

  private static final class Column {
    private final String _name;
    private final Values _values;
    private final Reader _reader;

    private Column(String name, Values values, Reader reader) {
      _name = name;
      _values = values;
      _reader = reader;
    }
  }

  /** A row with more values than the header has names. */
  public static final class WideRow {
    public final long number;
    public final int values;
    public final String text;

    private WideRow(long number, int values, String text) {
      this.number = number;
      this.values = values;
      this.text = text;
    }
  }

  private static final int SHOWN_BYTES = 1000;

  private final byte _delimiter;
  private final boolean _mayHaveBlanks;
  /** The bytes that end a value without quotes. */
  private final boolean[] _endsValue = new boolean[256];
  /** By their place in a row; null for those that are not selected. */
  private final Column[] _columns;
  private boolean _isBeforeHeader;
  private boolean _isInQuotes;
  private boolean _isAfterReturn;
  private long _rows;
  private byte[] _value = new byte[0];
  private int _begin;
  private int _valueEnd;
  private byte[] _unquoted = new byte[64];

  /**
   * @param width the number of values in a row
   * @param mayHaveBlanks whether there may be blanks around a number; around a text they are part of it
   */
  public CsvLines(int width, String delimiter, boolean hasHeader, boolean mayHaveBlanks) {
    _columns = new Column[width];
    _delimiter = (byte) delimiter.charAt(0);
    _isBeforeHeader = hasHeader;
    _mayHaveBlanks = mayHaveBlanks;
    for (byte end : new byte[]{_delimiter, '\n', '\r', '"'}) {
      _endsValue[end] = true;
    }
  }

  /**
   * Returns the values at a place of the rows, refilled for each batch; call it before the first one is read.
   *
   * @param type INT, LONG, DOUBLE or STRING; an empty value is null
   */
  public Values select(int place, String name, String type) {
    _columns[place] = column(name, type);
    return _columns[place]._values;
  }

  private static Column column(String name, String type) {
    switch (type) {
      case "INT":
        Numbers.Ints ints = new Numbers.Ints();
        return new Column(name, ints, (bytes, begin, end) -> {
          long value = NumberText.whole(bytes, begin, end);
          if ((int) value != value) {
            throw new UnsuitableException("a number that is too large");
          }
          ints.add((int) value);
        });
      case "LONG":
        Numbers.Longs longs = new Numbers.Longs();
        return new Column(name, longs, (bytes, begin, end) -> longs.add(NumberText.whole(bytes, begin, end)));
      case "DOUBLE":
        Numbers.Doubles doubles = new Numbers.Doubles();
        return new Column(name, doubles, (bytes, begin, end) -> doubles.add(NumberText.number(bytes, begin, end)));
      default:
        Texts texts = new Texts();
        return new Column(name, texts, (bytes, begin, end) -> texts.add(bytes, begin, end - begin));
    }
  }

  @Override
  int endOfRows(int begin, int end) {
    int rowsEnd = 0;
    boolean isInQuotes = _isInQuotes;
    boolean isAfterReturn = _isAfterReturn;
    for (int i = begin; i < end; i++) {
      byte character = _bytes[i];
      if (character == '"') {
        isInQuotes = !isInQuotes;
      }
      if (isAfterReturn && character != '\n') {
        rowsEnd = i;
      }
      isAfterReturn = character == '\r' && !isInQuotes;
      if (character == '\n' && !isInQuotes) {
        rowsEnd = i + 1;
      }
    }
    _isInQuotes = isInQuotes;
    _isAfterReturn = isAfterReturn;
    return rowsEnd;
  }

  /**
   * Reads the next rows into the selected values.
   *
   * @return the number of rows; 0 if more bytes are needed
   */
  public int next(int maxRows) {
    for (Column column : _columns) {
      if (column != null) {
        column._values.begin();
      }
    }
    int rows = 0;
    while (rows < maxRows && isAtRow()) {
      readRow();
      _rows++;
      rows++;
    }
    return rows;
  }

  /** Returns the next row that has values, other than empty ones, behind the last name; null if more bytes are needed. */
  public WideRow nextWide() {
    while (isAtRow()) {
      int begin = _position;
      int values = 0;
      boolean isWide = false;
      boolean goesOn = true;
      while (goesOn) {
        goesOn = passValue();
        values++;
        isWide |= values > _columns.length && _valueEnd > _begin;
      }
      _rows++;
      if (isWide) {
        int shown = Math.min(_position - 1 - begin, SHOWN_BYTES);
        return new WideRow(_rows, values, new String(_bytes, begin, shown, StandardCharsets.UTF_8));
      }
    }
    return null;
  }

  /** Returns whether there is a further row, and passes empty lines and the header. */
  private boolean isAtRow() {
    while (_position < _rowsEnd) {
      if (_bytes[_position] == '\n' || _bytes[_position] == '\r') {
        _position++;
      } else if (_isBeforeHeader) {
        _isBeforeHeader = false;
        int values = 1;
        while (passValue()) {
          values++;
        }
        checkWidth(values);
      } else {
        return true;
      }
    }
    return false;
  }

  private void readRow() {
    int place = 0;
    boolean goesOn = true;
    Column column = null;
    try {
      while (goesOn) {
        column = place < _columns.length ? _columns[place] : null;
        goesOn = passValue();
        place++;
        if (column == null) {
          continue;
        }
        if (_begin == _valueEnd) {
          column._values.addNull();
          continue;
        }
        if (_mayHaveBlanks && !(column._values instanceof Texts)) {
          dropBlanks();
        }
        column._reader.read(_value, _begin, _valueEnd);
      }
      column = null;
      checkWidth(place);
    } catch (UnsuitableException e) {
      String where = column == null ? "" : ", column " + column._name;
      throw new UnsuitableException("row " + (_rows + 1) + where + ": " + e.getMessage());
    }
  }

  private void dropBlanks() {
    while (_begin < _valueEnd && isBlank(_value[_begin])) {
      _begin++;
    }
    while (_begin < _valueEnd && isBlank(_value[_valueEnd - 1])) {
      _valueEnd--;
    }
  }

  private static boolean isBlank(byte character) {
    return character == ' ' || character == '\t';
  }

  private void checkWidth(int values) {
    if (values != _columns.length) {
      String count = values == 1 ? "1 value" : values + " values";
      throw new UnsuitableException(count + " instead of " + _columns.length);
    }
  }

  /** Passes the next value of a row and what ends it; returns whether the row goes on. */
  private boolean passValue() {
    int end = _position;
    if (_bytes[end] == '"') {
      unquote();
    } else {
      while (!_endsValue[_bytes[end] & 0xff]) {
        end++;
      }
      _value = _bytes;
      _begin = _position;
      _valueEnd = end;
      _position = end;
      if (_bytes[end] == '"') {
        throw new UnsuitableException("a quote inside an unquoted field");
      }
    }
    byte next = _bytes[_position];
    if (next != _delimiter && next != '\n' && next != '\r') {
      throw new UnsuitableException("text after a closing quote");
    }
    _position++;
    return next == _delimiter;
  }

  private void unquote() {
    int size = 0;
    int begin = _position + 1;
    while (true) {
      int end = begin;
      while (_bytes[end] != '"') {
        if (++end == _end) {
          throw new UnsuitableException("a quoted field is not closed");
        }
      }
      boolean isDoubled = _bytes[end + 1] == '"';
      int length = isDoubled ? end + 1 - begin : end - begin;
      if (size + length > _unquoted.length) {
        _unquoted = Arrays.copyOf(_unquoted, Math.max(2 * _unquoted.length, size + length));
      }
      System.arraycopy(_bytes, begin, _unquoted, size, length);
      size += length;
      if (!isDoubled) {
        _value = _unquoted;
        _begin = 0;
        _valueEnd = size;
        _position = end + 1;
        return;
      }
      begin = end + 2;
    }
  }
}
