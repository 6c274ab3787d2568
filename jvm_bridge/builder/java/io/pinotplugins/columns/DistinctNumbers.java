package io.pinotplugins.columns;

import java.util.Arrays;

/**
 * A set of longs with the rank of each. If they are close together it is a table with an entry for each number of
 * their range, else a hash table.
 */
final class DistinctNumbers {
  private static final int SMALL_RANGE = 1 << 16;
  private static final int MIN_CAPACITY = 1 << 10;
  /** Marks an empty slot. */
  private static final long EMPTY = 0x8badf00dcafebabeL;

  private final long _min;
  /** For a range by number, with 1 for each present number before ranking; for a hash table by slot. */
  private int[] _ranks;
  private long[] _slots;
  private int _count;
  private int _mask;
  /** Whether the number that marks an empty slot is in the set. */
  private boolean _hasEmpty;
  private int _rankOfEmpty;

  /** Creates a set for at most a number of entries between a minimum and a maximum. */
  DistinctNumbers(long min, long max, int entries) {
    this(min, max, entries, MIN_CAPACITY);
  }

  private DistinctNumbers(long min, long max, int entries, int capacity) {
    _min = min;
    long range = max - min + 1;
    if (range > 0 && range <= Math.max(SMALL_RANGE, 2L * entries) && range < 1 << 28) {
      _ranks = new int[(int) range];
    } else {
      resize(capacity);
    }
  }

  /** Creates a set of sorted numbers, with their ranks. */
  static DistinctNumbers ranked(long[] sorted, int entries) {
    int capacity = Math.max(MIN_CAPACITY, Integer.highestOneBit(sorted.length) << 2);
    DistinctNumbers set = new DistinctNumbers(sorted[0], sorted[sorted.length - 1], entries, capacity);
    set.addAll(sorted, sorted.length);
    set.rank(sorted);
    return set;
  }

  void addAll(long[] numbers, int count) {
    if (_slots == null) {
      int[] ranks = _ranks;
      long min = _min;
      for (int i = 0; i < count; i++) {
        ranks[(int) (numbers[i] - min)] = 1;
      }
      return;
    }
    for (int i = 0; i < count; i++) {
      if (i == 0 || numbers[i] != numbers[i - 1]) {
        add(numbers[i]);
      }
    }
  }

  private void add(long number) {
    if (number == EMPTY) {
      _hasEmpty = true;
      return;
    }
    int slot = slot(number) & _mask;
    while (_slots[slot] != EMPTY) {
      if (_slots[slot] == number) {
        return;
      }
      slot = (slot + 1) & _mask;
    }
    _slots[slot] = number;
    if (2 * ++_count > _mask) {
      long[] before = _slots;
      resize(4 * before.length);
      for (long each : before) {
        if (each != EMPTY) {
          int free = slot(each) & _mask;
          while (_slots[free] != EMPTY) {
            free = (free + 1) & _mask;
          }
          _slots[free] = each;
        }
      }
    }
  }

  private void resize(int capacity) {
    _slots = new long[capacity];
    _mask = capacity - 1;
    Arrays.fill(_slots, EMPTY);
  }

  private static int slot(long number) {
    long mixed = number * 0x9E3779B97F4A7C15L;
    return (int) (mixed ^ (mixed >>> 32));
  }

  /** Returns all numbers, sorted. */
  long[] sorted() {
    long[] sorted = new long[_slots == null ? inRange() : _count + (_hasEmpty ? 1 : 0)];
    int next = 0;
    if (_slots == null) {
      for (int i = 0; i < _ranks.length; i++) {
        if (_ranks[i] != 0) {
          sorted[next++] = _min + i;
        }
      }
      return sorted;
    }
    for (long each : _slots) {
      if (each != EMPTY) {
        sorted[next++] = each;
      }
    }
    if (_hasEmpty) {
      sorted[next] = EMPTY;
    }
    Arrays.sort(sorted);
    return sorted;
  }

  private int inRange() {
    int count = 0;
    for (int each : _ranks) {
      count += each;
    }
    return count;
  }

  private void rank(long[] sorted) {
    if (_slots != null) {
      _ranks = new int[_slots.length];
    }
    for (int rank = 0; rank < sorted.length; rank++) {
      if (_slots == null) {
        _ranks[(int) (sorted[rank] - _min)] = rank;
      } else if (sorted[rank] == EMPTY) {
        _rankOfEmpty = rank;
      } else {
        _ranks[find(sorted[rank])] = rank;
      }
    }
  }

  private int find(long number) {
    int slot = slot(number) & _mask;
    while (_slots[slot] != number) {
      slot = (slot + 1) & _mask;
    }
    return slot;
  }

  /** Converts numbers of a ranked set to their ranks, from 0 on. */
  void ranks(long[] numbers, int count, int[] ranks) {
    if (_slots == null) {
      int[] table = _ranks;
      long min = _min;
      for (int i = 0; i < count; i++) {
        ranks[i] = table[(int) (numbers[i] - min)];
      }
      return;
    }
    long last = EMPTY;
    int rank = _rankOfEmpty;
    for (int i = 0; i < count; i++) {
      if (numbers[i] != last) {
        last = numbers[i];
        rank = last == EMPTY ? _rankOfEmpty : _ranks[find(last)];
      }
      ranks[i] = rank;
    }
  }
}
