package streamgauge;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Delimited UTF-8 text as raw bytes. Separators are ASCII characters, which never occur inside a multi-byte one. */
public final class Text {
  private static final byte[] EMPTY = {};

  /** Any number with this many digits fits into 64 bits. */
  private static final int MOST_DIGITS = 18;

  private Text() {}

  /** The n-th field, counted from 0; empty if the record has fewer. */
  public static byte[] field(byte[] record, char separator, int index) {
    int from = 0;
    for (int skipped = 0; skipped < index; skipped++) {
      from = end(record, separator, from) + 1;
      if (from > record.length) {
        return EMPTY;
      }
    }
    return Arrays.copyOfRange(record, from, end(record, separator, from));
  }

  /** The non-empty parts between separators. */
  public static List<byte[]> words(byte[] text, char separator) {
    List<byte[]> words = new ArrayList<>();
    for (int from = 0; from < text.length;) {
      int end = end(text, separator, from);
      if (end > from) {
        words.add(Arrays.copyOfRange(text, from, end));
      }
      from = end + 1;
    }
    return words;
  }

  private static int end(byte[] text, char separator, int from) {
    int end = from;
    while (end < text.length && text[end] != separator) {
      end++;
    }
    return end;
  }

  public static boolean contains(byte[] text, byte[] pattern) {
    for (int from = 0; from <= text.length - pattern.length; from++) {
      if (Arrays.equals(text, from, from + pattern.length, pattern, 0, pattern.length)) {
        return true;
      }
    }
    return false;
  }

  /** A decimal integer; throws NumberFormatException. */
  public static long number(byte[] text) {
    boolean negative = text.length > 0 && text[0] == '-';
    int digits = text.length - (negative ? 1 : 0);
    if (digits < 1 || digits > MOST_DIGITS) {
      throw new NumberFormatException("expected 1 to " + MOST_DIGITS + " digits, got " + digits);
    }
    long number = 0;
    for (int i = text.length - digits; i < text.length; i++) {
      if (text[i] < '0' || text[i] > '9') {
        throw new NumberFormatException("expected a digit, got byte " + text[i]);
      }
      number = 10 * number + text[i] - '0';
    }
    return negative ? -number : number;
  }
}
