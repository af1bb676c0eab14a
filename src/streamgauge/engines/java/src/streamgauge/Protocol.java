package streamgauge;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;

/** The program's side of the protocol: one JSON object per line on standard output. */
public final class Protocol {
  private static final PrintStream OUT = System.out;

  private Protocol() {}

  public static void ready() {
    emit("ready", Map.of());
  }

  public static void assigned(long partitions) {
    emit("assigned", Map.of("partitions", partitions));
  }

  public static void warning(String message) {
    emit("warning", Map.of("message", message));
  }

  public static void failed(String message) {
    emit("failed", Map.of("message", message));
  }

  public static void stopped() {
    emit("stopped", Map.of());
  }

  public static synchronized void emit(String event, Map<String, ?> fields) {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("event", event);
    line.putAll(fields);
    try {
      OUT.println(Json.MAPPER.writeValueAsString(line));
    } catch (JsonProcessingException problem) {
      throw new UncheckedIOException(problem);
    }
    OUT.flush();
  }
}
