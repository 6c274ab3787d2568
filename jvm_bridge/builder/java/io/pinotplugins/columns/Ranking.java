package io.pinotplugins.columns;

import java.util.Arrays;

/** Sorts values and returns their original indexes. */
final class Ranking {
  private Ranking() {
  }

  /** Returns the indexes of the first values, in sorted order. */
  static int[] sort(Comparable<?>[] values, int count) {
    Entry[] entries = new Entry[count];
    for (int i = 0; i < count; i++) {
      entries[i] = new Entry(values[i], i);
    }
    Arrays.sort(entries);
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      order[i] = entries[i]._index;
    }
    return order;
  }

  private static final class Entry implements Comparable<Entry> {
    private final Comparable<Object> _value;
    private final int _index;

    @SuppressWarnings("unchecked")
    private Entry(Comparable<?> value, int index) {
      _value = (Comparable<Object>) value;
      _index = index;
    }

    @Override
    public int compareTo(Entry other) {
      return _value.compareTo(other._value);
    }
  }
}
