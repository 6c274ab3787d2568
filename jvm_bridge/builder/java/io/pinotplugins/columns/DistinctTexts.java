package io.pinotplugins.columns;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A set of byte strings, numbered in the order in which they are added. */
final class DistinctTexts {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle BIG_ENDIAN_LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final int CHUNK = 1 << 20;
  /** The smallest first byte of a character of four bytes; others, except ASCII, have smaller ones. */
  private static final byte FOUR_BYTES = (byte) 0xF0;

  private final List<byte[]> _chunks = new ArrayList<>();
  private int _freeInChunk;
  private int _count;
  /** For each text: its chunk, its start in the chunk, its length, and its hash. */
  private int[] _chunkOf = new int[64];
  private int[] _starts = new int[64];
  private int[] _lengths = new int[64];
  private int[] _hashes = new int[64];
  /** By slot, the number of a text plus one; 0 if empty. */
  private int[] _slots = new int[256];

  int size() {
    return _count;
  }

  int length(int number) {
    return _lengths[number];
  }

  /** Returns whether a text has a character with two units in a Java string. */
  boolean hasLongCharacters() {
    for (int chunk = 0; chunk < _chunks.size(); chunk++) {
      byte[] bytes = _chunks.get(chunk);
      int end = chunk == _chunks.size() - 1 ? bytes.length - _freeInChunk : bytes.length;
      for (int i = 0; i < end; i++) {
        if (bytes[i] < 0 && bytes[i] >= FOUR_BYTES) {
          return true;
        }
      }
    }
    return false;
  }

  /** Returns eight bytes of a text from an offset on, padded with zeros, as a number that sorts like them. */
  long key(int number, int offset) {
    byte[] chunk = _chunks.get(_chunkOf[number]);
    int start = _starts[number] + offset;
    int left = _lengths[number] - offset;
    if (left >= 8) {
      return (long) BIG_ENDIAN_LONGS.get(chunk, start) ^ Long.MIN_VALUE;
    }
    long key = 0;
    for (int i = 0; i < left; i++) {
      key |= (chunk[start + i] & 0xFFL) << (56 - 8 * i);
    }
    return key ^ Long.MIN_VALUE;
  }

  int compare(int number, int other) {
    int start = _starts[number];
    int otherStart = _starts[other];
    return Arrays.compareUnsigned(_chunks.get(_chunkOf[number]), start, start + _lengths[number],
        _chunks.get(_chunkOf[other]), otherStart, otherStart + _lengths[other]);
  }

  String string(int number) {
    return new String(_chunks.get(_chunkOf[number]), _starts[number], _lengths[number], StandardCharsets.UTF_8);
  }

  byte[] bytes(int number) {
    int start = _starts[number];
    return Arrays.copyOfRange(_chunks.get(_chunkOf[number]), start, start + _lengths[number]);
  }

  /** Returns the number of a text, adding it if it is new. */
  int add(byte[] text, int start, int length) {
    int hash = hash(text, start, length);
    int mask = _slots.length - 1;
    int slot = hash & mask;
    while (_slots[slot] != 0) {
      int number = _slots[slot] - 1;
      if (_hashes[number] == hash && isEqual(number, text, start, length)) {
        return number;
      }
      slot = (slot + 1) & mask;
    }
    int number = append(text, start, length, hash);
    _slots[slot] = number + 1;
    if (2 * _count > _slots.length) {
      grow();
    }
    return number;
  }

  private static int hash(byte[] text, int start, int length) {
    long hash = length;
    int at = start;
    int end = start + length;
    for (; at + 8 <= end; at += 8) {
      hash = (hash ^ (long) LONGS.get(text, at)) * 0x9E3779B97F4A7C15L;
      hash ^= hash >>> 29;
    }
    for (; at < end; at++) {
      hash = (hash ^ text[at]) * 0x9E3779B97F4A7C15L;
    }
    return (int) (hash ^ (hash >>> 32));
  }

  private boolean isEqual(int number, byte[] text, int start, int length) {
    int own = _starts[number];
    return _lengths[number] == length
        && Arrays.equals(_chunks.get(_chunkOf[number]), own, own + length, text, start, start + length);
  }

  private int append(byte[] text, int start, int length, int hash) {
    if (_count == _starts.length) {
      int capacity = Math.multiplyExact(2, _count);
      _chunkOf = Arrays.copyOf(_chunkOf, capacity);
      _starts = Arrays.copyOf(_starts, capacity);
      _lengths = Arrays.copyOf(_lengths, capacity);
      _hashes = Arrays.copyOf(_hashes, capacity);
    }
    if (_chunks.isEmpty() || length > _freeInChunk) {
      int size = Math.max(length, _chunks.isEmpty() ? CHUNK >> 4 : CHUNK);
      _chunks.add(new byte[size]);
      _freeInChunk = size;
    }
    byte[] chunk = _chunks.get(_chunks.size() - 1);
    int own = chunk.length - _freeInChunk;
    System.arraycopy(text, start, chunk, own, length);
    _freeInChunk -= length;
    _chunkOf[_count] = _chunks.size() - 1;
    _starts[_count] = own;
    _lengths[_count] = length;
    _hashes[_count] = hash;
    return _count++;
  }

  private void grow() {
    int[] slots = new int[Math.multiplyExact(4, _slots.length)];
    int mask = slots.length - 1;
    for (int number = 0; number < _count; number++) {
      int slot = _hashes[number] & mask;
      while (slots[slot] != 0) {
        slot = (slot + 1) & mask;
      }
      slots[slot] = number + 1;
    }
    _slots = slots;
  }

  /** Adds the texts of a block; returns their numbers. */
  int[] addAll(ByteBuffer buffer, int[] ends, int count) {
    byte[] text = new byte[count == 0 ? 0 : ends[count - 1]];
    buffer.get(text);
    int[] numbers = new int[count];
    int start = 0;
    for (int i = 0; i < count; i++) {
      numbers[i] = add(text, start, ends[i] - start);
      start = ends[i];
    }
    return numbers;
  }
}
