package io.pinotplugins.columns;

import java.util.Arrays;

/**
 * A set of longs that knows the rank of each. Where they lie close together it is a table with a place for each number
 * of their range, else a hash table.
 */
final class DistinctNumbers {
  private static final int SMALL_RANGE = 1 << 16;
  private static final int LEAST_CAPACITY = 1 << 10;

  private final long _least;
  /** Of a range: by number; of a hash table: by slot. A number that is there has a rank from 1 on. */
  private int[] _ranks;
  private long[] _slots;
  private int _count;
  private int _mask;
  /** The number that marks an empty slot, and whether it is in the set. */
  private static final long EMPTY = 0x8badf00dcafebabeL;
  private int _rankOfEmpty;

  /** Makes a set of numbers between two, of which there are no more than so many. */
  DistinctNumbers(long least, long most, int entries) {
    _least = least;
    long range = most - least + 1;
    if (range > 0 && range <= Math.max(SMALL_RANGE, 2L * entries) && range < 1 << 28) {
      _ranks = new int[(int) range];
    } else {
      resize(LEAST_CAPACITY);
    }
  }

  void addAll(long[] numbers, int count) {
    if (_slots == null) {
      int[] ranks = _ranks;
      long least = _least;
      for (int i = 0; i < count; i++) {
        ranks[(int) (numbers[i] - least)] = 1;
      }
      return;
    }
    long last = EMPTY;
    for (int i = 0; i < count; i++) {
      if (numbers[i] != last) {
        last = numbers[i];
        add(last);
      }
    }
  }

  private void add(long number) {
    if (number == EMPTY) {
      _rankOfEmpty = 1;
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

  /** Returns all numbers in order; from now on they have ranks, and none is added. */
  long[] sorted() {
    return _slots == null ? sortedRange() : sortedSlots();
  }

  private long[] sortedRange() {
    int count = 0;
    for (int i = 0; i < _ranks.length; i++) {
      if (_ranks[i] != 0) {
        _ranks[i] = ++count;
      }
    }
    long[] sorted = new long[count];
    for (int i = 0; i < _ranks.length; i++) {
      if (_ranks[i] != 0) {
        sorted[_ranks[i] - 1] = _least + i;
      }
    }
    return sorted;
  }

  private long[] sortedSlots() {
    long[] sorted = new long[_count + _rankOfEmpty];
    int next = 0;
    for (long each : _slots) {
      if (each != EMPTY) {
        sorted[next++] = each;
      }
    }
    if (_rankOfEmpty != 0) {
      sorted[next] = EMPTY;
    }
    Arrays.sort(sorted);
    _ranks = new int[_slots.length];
    for (int i = 0; i < sorted.length; i++) {
      if (sorted[i] == EMPTY) {
        _rankOfEmpty = i + 1;
      } else {
        _ranks[find(sorted[i])] = i + 1;
      }
    }
    return sorted;
  }

  private int find(long number) {
    int slot = slot(number) & _mask;
    while (_slots[slot] != number) {
      slot = (slot + 1) & _mask;
    }
    return slot;
  }

  /** Turns numbers of the set into their ranks, from 0 on. */
  void ranks(long[] numbers, int count, int[] ranks) {
    if (_slots == null) {
      int[] table = _ranks;
      long least = _least;
      for (int i = 0; i < count; i++) {
        ranks[i] = table[(int) (numbers[i] - least)] - 1;
      }
      return;
    }
    long last = EMPTY;
    int rank = _rankOfEmpty - 1;
    for (int i = 0; i < count; i++) {
      if (numbers[i] != last) {
        last = numbers[i];
        rank = (last == EMPTY ? _rankOfEmpty : _ranks[find(last)]) - 1;
      }
      ranks[i] = rank;
    }
  }
}
