package io.pinotplugins.columns;

import java.util.Arrays;

/** Sorts values and says where each came from. */
final class Ranking {
  private Ranking() {
  }

  /** Returns the places of the first values in their order. */
  static int[] sort(Comparable<?>[] values, int count) {
    Entry[] entries = new Entry[count];
    for (int i = 0; i < count; i++) {
      entries[i] = new Entry(values[i], i);
    }
    Arrays.sort(entries);
    int[] order = new int[count];
    for (int i = 0; i < count; i++) {
      order[i] = entries[i]._place;
    }
    return order;
  }

  private static final class Entry implements Comparable<Entry> {
    private final Comparable<Object> _value;
    private final int _place;

    @SuppressWarnings("unchecked")
    private Entry(Comparable<?> value, int place) {
      _value = (Comparable<Object>) value;
      _place = place;
    }

    @Override
    public int compareTo(Entry other) {
      return _value.compareTo(other._value);
    }
  }
}
