package io.pinotplugins.lines;

import java.nio.charset.StandardCharsets;

/** Numbers as texts. */
final class NumberText {
  /** A number with more digits may be too large for a long. */
  static final int DIGITS_OF_LONG = 18;
  static final long EXACT_IN_DOUBLE = 1L << 53;
  private static final double[] POWERS_OF_TEN = new double[DIGITS_OF_LONG + 1];

  static {
    for (int i = 0; i < POWERS_OF_TEN.length; i++) {
      POWERS_OF_TEN[i] = Double.parseDouble("1e" + i);
    }
  }

  private NumberText() {
  }

  /** Returns the whole number of digits, with or without a minus. */
  static long whole(byte[] bytes, int begin, int end) {
    int first = begin < end && bytes[begin] == '-' ? begin + 1 : begin;
    long value = 0;
    for (int i = first; i < end; i++) {
      int digit = bytes[i] - '0';
      if (digit < 0 || digit > 9) {
        throw notNumber();
      }
      value = 10 * value + digit;
    }
    if (first == end) {
      throw notNumber();
    }
    if (end - first > DIGITS_OF_LONG) {
      return parsedLong(bytes, begin, end);
    }
    return first > begin ? -value : value;
  }

  /** Returns the whole number of many digits. */
  static long parsedLong(byte[] bytes, int begin, int end) {
    try {
      return Long.parseLong(ascii(bytes, begin, end));
    } catch (NumberFormatException e) {
      throw new UnsuitableException("a number that is too large");
    }
  }

  /** Returns the double that is nearest to a number: digits, before or after a point or both, and maybe an exponent. */
  static double number(byte[] bytes, int begin, int end) {
    int first = begin < end && bytes[begin] == '-' ? begin + 1 : begin;
    int digitsEnd = passDigits(bytes, first, end);
    int digits = digitsEnd - first;
    if (digitsEnd < end && bytes[digitsEnd] == '.') {
      int point = digitsEnd;
      digitsEnd = passDigits(bytes, point + 1, end);
      digits += digitsEnd - point - 1;
    }
    if (digits == 0) {
      throw notNumber();
    }
    if (digitsEnd < end) {
      boolean isSigned = digitsEnd + 1 < end && (bytes[digitsEnd + 1] == '-' || bytes[digitsEnd + 1] == '+');
      int exponent = isSigned ? digitsEnd + 2 : digitsEnd + 1;
      boolean hasExponent = bytes[digitsEnd] == 'e' || bytes[digitsEnd] == 'E';
      if (!hasExponent || exponent == end || passDigits(bytes, exponent, end) < end) {
        throw notNumber();
      }
    }
    double value = nearest(bytes, first, digitsEnd, end);
    if (Double.isInfinite(value)) {
      throw new UnsuitableException("a number that is too large");
    }
    return first > begin ? -value : value;
  }

  private static int passDigits(byte[] bytes, int begin, int end) {
    int position = begin;
    while (position < end && bytes[position] >= '0' && bytes[position] <= '9') {
      position++;
    }
    return position;
  }

  /** Returns the double that is nearest to a number without a sign; its digits end where an exponent begins. */
  static double nearest(byte[] bytes, int first, int digitsEnd, int end) {
    if (digitsEnd == end && end - first <= DIGITS_OF_LONG) {
      long digits = 0;
      int decimals = 0;
      for (int i = first; i < end; i++) {
        if (bytes[i] == '.') {
          decimals = end - 1 - i;
        } else {
          digits = 10 * digits + (bytes[i] - '0');
        }
      }
      if (digits <= EXACT_IN_DOUBLE) {
        return digits / POWERS_OF_TEN[decimals]; // the quotient of two exact doubles
      }
    }
    return Double.parseDouble(ascii(bytes, first, end));
  }

  private static String ascii(byte[] bytes, int begin, int end) {
    return new String(bytes, begin, end - begin, StandardCharsets.ISO_8859_1);
  }

  private static UnsuitableException notNumber() {
    return new UnsuitableException("unexpected characters in a number");
  }
}
