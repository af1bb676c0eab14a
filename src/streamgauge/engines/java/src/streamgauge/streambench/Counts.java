package streamgauge.streambench;

import streamgauge.Json;

/** Counts so far, as they are published. */
public final class Counts {
  private Counts() {}

  /** Of the occurrences of a word. */
  public static byte[] ofWord(byte[] word, long n) {
    return Json.object(json -> {
      json.writeFieldName("word");
      json.writeUTF8String(word, 0, word.length);
      json.writeNumberField("n", n);
    });
  }

  /** Of distinct values. */
  public static byte[] ofDistinct(long n) {
    return Json.object(json -> json.writeNumberField("n", n));
  }
}
