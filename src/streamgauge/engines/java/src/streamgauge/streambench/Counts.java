package streamgauge.streambench;

import streamgauge.Json;

/** Running counts as published. */
public final class Counts {
  private Counts() {}

  /** The occurrences of a word. */
  public static byte[] ofWord(byte[] word, long n) {
    return Json.object(json -> {
      json.writeFieldName("word");
      json.writeUTF8String(word, 0, word.length);
      json.writeNumberField("n", n);
    });
  }

  /** The number of distinct values. */
  public static byte[] ofDistinct(long n) {
    return Json.object(json -> json.writeNumberField("n", n));
  }
}
