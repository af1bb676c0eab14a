package streamgauge.clicks;

import streamgauge.Json;
import streamgauge.Text;

/** A click: its number, its event time in milliseconds and its page, separated by tabs. */
public final class Click {
  public static final long WINDOW_MS = 1000;

  private static final int EVENT_MS = 1;

  private Click() {}

  public static long eventMs(byte[] record) {
    return Text.number(Text.field(record, '\t', EVENT_MS));
  }

  /** The number of clicks on a page in the second that ends at {@code windowEndMs}. */
  public static byte[] toJson(byte[] page, long windowEndMs, long n) {
    return Json.object(json -> {
      json.writeFieldName("page");
      json.writeUTF8String(page, 0, page.length);
      json.writeNumberField("window_end_ms", windowEndMs);
      json.writeNumberField("n", n);
    });
  }
}
