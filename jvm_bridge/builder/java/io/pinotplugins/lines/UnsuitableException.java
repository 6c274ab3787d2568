package io.pinotplugins.lines;

/** The text is not JSON lines, or not certain to mean the same for Jackson, which Pinot uses. */
final class UnsuitableException extends RuntimeException {
  UnsuitableException(String message) {
    super(message);
  }
}
