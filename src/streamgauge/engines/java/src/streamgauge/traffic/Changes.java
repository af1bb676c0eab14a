package streamgauge.traffic;

import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.util.Arrays;
import streamgauge.Job;
import streamgauge.Json;

/** The change of flow and speed of a measurement point against earlier seconds. */
public final class Changes {
  private Changes() {}

  /** How many seconds back a second is compared with: distinct values in ascending order. */
  public static int[] lookBacksS(Job job) {
    return Arrays.stream(job.listParameter("lookbacks_s")).sorted().distinct().toArray();
  }

  /** {@code before} holds the sums for each of {@code lookBacksS}, null if that second has none. */
  public static byte[] toJson(String id, long windowEndMs, int[] lookBacksS, Sums now, Sums[] before) {
    return Json.object(json -> {
      json.writeStringField("id", id);
      json.writeNumberField("window_end_ms", windowEndMs);
      int n = now.n();
      for (int i = 0; i < lookBacksS.length; i++) {
        Sums then = before[i];
        if (then != null) {
          write(json, "flow_change_" + lookBacksS[i], now.flow(), then.flow());
          write(json, "speed_change_" + lookBacksS[i], now.speed(), then.speed());
          n += then.n();
        }
      }
      json.writeNumberField("n", n);
    });
  }

  private static void write(JsonGenerator json, String name, double now, double then) throws IOException {
    if (then != 0) {
      json.writeNumberField(name, (now - then) / then);
    }
  }
}
