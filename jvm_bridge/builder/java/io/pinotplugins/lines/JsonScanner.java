package io.pinotplugins.lines;

import io.pinotplugins.arrays.Texts;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Reads tokens of JSON from bytes that are UTF-8. A row ends on the line on which it begins, and every line ends with a
 * line break: no token has one, so that nothing is read beyond it.
 */
final class JsonScanner {
  private static final int MAX_DEPTH = 500;
  private static final int MAX_NUMBER_BYTES = 300;
  /** The bytes that end a part of a text: quote, backslash and control characters. */
  private static final boolean[] ENDS_PART = new boolean[256];

  private static final byte[][] WORDS = {{'n', 'u', 'l', 'l'}, {'t', 'r', 'u', 'e'}, {'f', 'a', 'l', 's', 'e'}};
  private static final Boolean[] MEANINGS = {null, true, false};

  static {
    Arrays.fill(ENDS_PART, 0, ' ', true);
    ENDS_PART['"'] = true;
    ENDS_PART['\\'] = true;
  }

  private byte[] _bytes;
  private int _position;
  private byte[] _unescaped = new byte[64];
  private int _unescapedSize;

  /** Continues at a position of these bytes. */
  void begin(byte[] bytes, int position) {
    _bytes = bytes;
    _position = position;
  }

  int position() {
    return _position;
  }

  /** Skips blanks; returns the byte after them. */
  byte next() {
    int position = _position;
    byte found = _bytes[position];
    while (found == ' ' || found == '\t' || found == '\r') {
      found = _bytes[++position];
    }
    _position = position;
    return found;
  }

  /** Passes a character, which is the next one except for blanks. */
  void expect(char character) {
    if (next() != character) {
      throw unexpected();
    }
    _position++;
  }

  /** Returns whether an object or list goes on after a value, and passes the comma or the end. */
  boolean goesOn(char end) {
    byte found = next();
    if (found != ',' && found != end) {
      throw unexpected();
    }
    _position++;
    return found == ',';
  }

  /** Returns whether these bytes are the next, and passes them. */
  boolean take(byte[] expected) {
    int end = _position + expected.length;
    if (end > _bytes.length || !Arrays.equals(_bytes, _position, end, expected, 0, expected.length)) {
      return false;
    }
    _position = end;
    return true;
  }

  /** Reads a text. */
  String text() {
    readEscapedText();
    return new String(_unescaped, 0, _unescapedSize, StandardCharsets.UTF_8);
  }

  /** Reads a text. */
  void text(Texts texts) {
    int begin = beginOfText();
    int end = endOfPart(begin);
    if (_bytes[end] == '"') {
      texts.add(_bytes, begin, end - begin);
      _position = end + 1;
    } else {
      readEscapedText();
      texts.add(_unescaped, 0, _unescapedSize);
    }
  }

  private int beginOfText() {
    if (_bytes[_position] != '"') {
      throw unexpected();
    }
    return _position + 1;
  }

  private int endOfPart(int begin) {
    int end = begin;
    while (!ENDS_PART[_bytes[end] & 0xff]) {
      end++;
    }
    return end;
  }

  private void readEscapedText() {
    _unescapedSize = 0;
    int begin = beginOfText();
    while (true) {
      int end = endOfPart(begin);
      append(begin, end);
      _position = end;
      if (_bytes[end] == '"') {
        _position++;
        return;
      }
      if (_bytes[end] != '\\') {
        throw unexpected();
      }
      _position++;
      appendEscaped();
      begin = _position;
    }
  }

  private void append(int begin, int end) {
    makeRoom(end - begin);
    System.arraycopy(_bytes, begin, _unescaped, _unescapedSize, end - begin);
    _unescapedSize += end - begin;
  }

  private void makeRoom(int bytes) {
    if (bytes > _unescaped.length - _unescapedSize) {
      _unescaped = Arrays.copyOf(_unescaped, Math.max(2 * _unescaped.length, _unescapedSize + bytes));
    }
  }

  private void appendEscaped() {
    byte escape = _bytes[_position++];
    int index = "\"\\/bfnrt".indexOf(escape);
    if (index >= 0) {
      makeRoom(1);
      _unescaped[_unescapedSize++] = (byte) "\"\\/\b\f\n\r\t".charAt(index);
      return;
    }
    int character = escape == 'u' ? hexadecimal() : -1;
    if (Character.isHighSurrogate((char) character) && take(new byte[]{'\\', 'u'})) {
      int low = hexadecimal();
      character = Character.isLowSurrogate((char) low) ? Character.toCodePoint((char) character, (char) low) : -1;
    }
    if (character < 0 || (character >= Character.MIN_SURROGATE && character <= Character.MAX_SURROGATE)) {
      throw new UnsuitableException("an escape that is not a character");
    }
    byte[] bytes = new String(Character.toChars(character)).getBytes(StandardCharsets.UTF_8);
    makeRoom(bytes.length);
    System.arraycopy(bytes, 0, _unescaped, _unescapedSize, bytes.length);
    _unescapedSize += bytes.length;
  }

  private int hexadecimal() {
    int value = 0;
    for (int i = 0; i < 4; i++) {
      int digit = Character.digit(_bytes[_position++], 16);
      if (digit < 0) {
        throw new UnsuitableException("an escape that is not a character");
      }
      value = value << 4 | digit;
    }
    return value;
  }

  /** Reads a whole number. */
  long whole() {
    int begin = _position;
    boolean isNegative = _bytes[begin] == '-';
    int first = isNegative ? begin + 1 : begin;
    int end = first;
    long value = 0;
    int digit = _bytes[end] - '0';
    while (digit >= 0 && digit <= 9) {
      value = 10 * value + digit;
      digit = _bytes[++end] - '0';
    }
    byte next = _bytes[end];
    if (end == first || next == '.' || next == 'e' || next == 'E' || (_bytes[first] == '0' && end > first + 1)) {
      throw unexpected();
    }
    _position = end;
    if (end - first > NumberText.DIGITS_OF_LONG) {
      return NumberText.parsedLong(_bytes, begin, end);
    }
    return isNegative ? -value : value;
  }

  /**
   * Reads any number as the nearest double.
   *
   * @param isExact whether a whole number must be exact
   */
  double number(boolean isExact) {
    boolean isNegative = _bytes[_position] == '-';
    int first = isNegative ? _position + 1 : _position;
    int digitsEnd = passNumber();
    double value = NumberText.nearest(_bytes, first, digitsEnd, _position);
    // "-0" is an integer for Jackson, and then has no sign.
    if (Double.isInfinite(value) || (value == 0 && isNegative)) {
      throw new UnsuitableException("a number that is not finite, or a negative zero");
    }
    if (isExact && value >= NumberText.EXACT_IN_DOUBLE) {
      throw new UnsuitableException("a number of 2^53 or more, and the column is FLOAT or used by a transform or filter");
    }
    return isNegative ? -value : value;
  }

  /** Passes a number; returns where its exponent begins, or else where it ends. */
  private int passNumber() {
    int begin = _position;
    int first = _bytes[begin] == '-' ? begin + 1 : begin;
    int end = passDigits(first);
    if (_bytes[first] == '0' && end > first + 1) {
      throw unexpected();
    }
    if (_bytes[end] == '.') {
      end = passDigits(end + 1);
    }
    int digitsEnd = end;
    if (_bytes[end] == 'e' || _bytes[end] == 'E') {
      byte sign = _bytes[end + 1];
      end = passDigits(sign == '+' || sign == '-' ? end + 2 : end + 1);
    }
    if (end - begin > MAX_NUMBER_BYTES) {
      throw new UnsuitableException("a number that is too long");
    }
    _position = end;
    return digitsEnd;
  }

  private int passDigits(int begin) {
    int end = begin;
    while (_bytes[end] >= '0' && _bytes[end] <= '9') {
      end++;
    }
    if (end == begin) {
      throw unexpected();
    }
    return end;
  }

  /** Passes a value of any type. */
  void skip() {
    skip(0);
  }

  private void skip(int depth) {
    if (depth > MAX_DEPTH) {
      throw new UnsuitableException("a value that is nested too deeply");
    }
    switch (next()) {
      case '"':
        int end = endOfPart(_position + 1);
        if (_bytes[end] == '"') {
          _position = end + 1;
        } else {
          readEscapedText();
        }
        return;
      case '{':
        _position++;
        if (next() == '}') {
          _position++;
          return;
        }
        do {
          if (next() != '"') {
            throw unexpected();
          }
          skip(depth + 1);
          expect(':');
          skip(depth + 1);
        } while (goesOn('}'));
        return;
      case '[':
        _position++;
        if (next() == ']') {
          _position++;
          return;
        }
        do {
          skip(depth + 1);
        } while (goesOn(']'));
        return;
      case 't':
      case 'f':
      case 'n':
        word();
        return;
      default:
        passNumber();
    }
  }

  /** Reads a boolean or null. */
  Boolean word() {
    for (int i = 0; i < WORDS.length; i++) {
      if (take(WORDS[i])) {
        return MEANINGS[i];
      }
    }
    throw unexpected();
  }

  private UnsuitableException unexpected() {
    return new UnsuitableException("not JSON, or not of the type of the first rows");
  }
}
