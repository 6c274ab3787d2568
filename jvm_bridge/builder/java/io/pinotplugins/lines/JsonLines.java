package io.pinotplugins.lines;

import io.pinotplugins.arrays.Values;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON objects, each on one line, into columns, without an object for each value. Text of another kind is not
 * read: Jackson, which Pinot uses, shall then say what it means.
 */
public final class JsonLines extends Lines {
  private static final int MAX_KEYS = 4096;
  private static final int MAX_KEY_BYTES = 1000;
  /** How many keys of the usual order a row may lack at one place before the next one is looked up by its name. */
  private static final int MAX_MISSING = 4;

  private final Map<String, JsonColumn> _columns = new HashMap<>();
  private final JsonScanner _scanner = new JsonScanner();
  /** The keys of the rows so far, in the order in which the rows usually have them. */
  private final List<Key> _keys = new ArrayList<>();
  private final Map<String, Integer> _places = new HashMap<>();
  private int _nextKey;
  private long _rows;
  /** The column that is being read, or null. */
  private String _current;

  private static final class Key {
    /** With its quotes. */
    private final byte[] _written;
    private final String _name;
    /** Null if it is not selected. */
    private final JsonColumn _column;

    private Key(byte[] written, String name, JsonColumn column) {
      _written = written;
      _name = name;
      _column = column;
    }
  }

  /**
   * Returns the values of a key, refilled for each batch; call it before the first one is read.
   *
   * @param type BOOLEAN, INT, LONG, DOUBLE or STRING
   * @param isExact whether a whole number that is a double must be exact
   */
  public Values select(String name, String type, boolean isList, boolean isExact) {
    JsonColumn column = JsonColumn.of(type, isExact);
    _columns.put(name, isList ? JsonColumn.ofLists(column) : column);
    return _columns.get(name).values;
  }

  @Override
  int endOfRows(int begin, int end) {
    int rowsEnd = end;
    while (rowsEnd > begin && _bytes[rowsEnd - 1] != '\n') {
      rowsEnd--;
    }
    return rowsEnd > begin ? rowsEnd : 0;
  }

  /**
   * Reads the next rows into the selected values.
   *
   * @return the number of rows; 0 if more bytes are needed
   */
  public int next(int maxRows) {
    JsonColumn[] columns = _columns.values().toArray(new JsonColumn[0]);
    for (JsonColumn column : columns) {
      column.values.begin();
    }
    _scanner.begin(_bytes, _position);
    int rows = 0;
    while (rows < maxRows && isAtRow()) {
      try {
        readRow();
      } catch (UnsuitableException e) {
        String where = _current == null ? "" : ", column " + _current;
        throw new UnsuitableException("row " + (_rows + 1) + where + ": " + e.getMessage());
      }
      for (JsonColumn column : columns) {
        if (column.row != _rows) {
          column.values.addNull();
        }
      }
      _rows++;
      rows++;
    }
    _position = _scanner.position();
    return rows;
  }

  private boolean isAtRow() {
    while (_scanner.position() < _rowsEnd) {
      if (_scanner.next() != '\n') {
        return true;
      }
      _scanner.begin(_bytes, _scanner.position() + 1);
    }
    return false;
  }

  private void readRow() {
    _nextKey = 0;
    _scanner.expect('{');
    if (_scanner.next() == '}') {
      _scanner.expect('}');
      return;
    }
    do {
      Key key = key();
      _scanner.expect(':');
      JsonColumn column = key._column;
      if (column == null) {
        _scanner.skip();
      } else {
        _current = key._name;
        if (column.row == _rows) {
          throw new UnsuitableException("a key that the row has twice");
        }
        column.row = _rows;
        column.read(_scanner);
        _current = null;
      }
    } while (_scanner.goesOn('}'));
  }

  private Key key() {
    _scanner.next();
    int last = Math.min(_keys.size(), _nextKey + MAX_MISSING);
    for (int i = _nextKey; i < last; i++) {
      Key key = _keys.get(i);
      if (_scanner.take(key._written)) {
        _nextKey = i + 1;
        return key;
      }
    }
    int begin = _scanner.position();
    String name = _scanner.text();
    byte[] written = Arrays.copyOfRange(_bytes, begin, _scanner.position());
    if (written.length > MAX_KEY_BYTES) {
      throw new UnsuitableException("a key that is too long");
    }
    Key key = new Key(written, name, _columns.get(name));
    int place = _places.getOrDefault(name, _keys.size());
    if (place == _keys.size() && place < MAX_KEYS) {
      _keys.add(key);
      _places.put(name, place);
    }
    _nextKey = place + 1;
    return key;
  }
}
