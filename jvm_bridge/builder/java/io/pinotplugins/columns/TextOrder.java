package io.pinotplugins.columns;

import java.util.Arrays;

/**
 * Sorts texts by their bytes, eight at a time: texts that are equal so far are sorted by the next eight. In UTF-8 this
 * is the order of Java's strings, except for characters with two units there. No text has a null character.
 */
final class TextOrder {
  private static final int FEW = 12;
  /** Texts with this many equal bytes are compared as a whole, to limit the recursion. */
  private static final int MAX_DEPTH = 8 * 512;

  private final DistinctTexts _texts;
  private final int[] _order;
  private final long[] _keys;
  private int _random = 1;

  private TextOrder(DistinctTexts texts) {
    _texts = texts;
    _order = new int[texts.size()];
    _keys = new long[_order.length];
    for (int i = 0; i < _order.length; i++) {
      _order[i] = i;
    }
  }

  /** Returns the numbers of the texts, in sorted order. */
  static int[] of(DistinctTexts texts) {
    TextOrder order = new TextOrder(texts);
    order.sortFrom(0, order._order.length, 0);
    return order._order;
  }

  private void sortFrom(int from, int to, int depth) {
    if (depth == MAX_DEPTH) {
      Integer[] part = new Integer[to - from];
      for (int i = from; i < to; i++) {
        part[i - from] = _order[i];
      }
      Arrays.sort(part, _texts::compare);
      for (int i = from; i < to; i++) {
        _order[i] = part[i - from];
      }
      return;
    }
    for (int i = from; i < to; i++) {
      _keys[i] = _texts.key(_order[i], depth);
    }
    sortKeys(from, to);
    int first = from;
    for (int i = from + 1; i <= to; i++) {
      if (i == to || _keys[i] != _keys[first]) {
        if (i - first > 1) {
          sortFrom(first, i, depth + 8);
        }
        first = i;
      }
    }
  }

  private void sortKeys(int begin, int end) {
    int from = begin;
    int to = end;
    while (to - from > FEW) {
      long pivot = _keys[from + random(to - from)];
      int low = from;
      int high = to;
      for (int i = from; i < high;) {
        if (_keys[i] < pivot) {
          swap(i++, low++);
        } else if (_keys[i] > pivot) {
          swap(i, --high);
        } else {
          i++;
        }
      }
      if (low - from < to - high) { // recursion for the smaller part, to limit its depth
        sortKeys(from, low);
        from = high;
      } else {
        sortKeys(high, to);
        to = low;
      }
    }
    for (int i = from + 1; i < to; i++) {
      for (int j = i; j > from && _keys[j] < _keys[j - 1]; j--) {
        swap(j, j - 1);
      }
    }
  }

  private int random(int limit) {
    _random ^= _random << 13;
    _random ^= _random >>> 17;
    _random ^= _random << 5;
    return (_random >>> 1) % limit;
  }

  private void swap(int i, int j) {
    long key = _keys[i];
    _keys[i] = _keys[j];
    _keys[j] = key;
    int number = _order[i];
    _order[i] = _order[j];
    _order[j] = number;
  }
}
