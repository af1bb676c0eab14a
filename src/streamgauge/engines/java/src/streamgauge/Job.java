package streamgauge;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.Reader;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** The job file (see the protocol). */
public final class Job implements Serializable {
  private static final long serialVersionUID = 1L;

  private final JsonNode json;

  private Job(JsonNode json) {
    this.json = json;
  }

  public static Job read(Path file) throws IOException {
    return new Job(Json.MAPPER.readTree(file.toFile()));
  }

  /** Family and name, such as {@code traffic/join}. */
  public String workload() {
    return json.required("workload").asText();
  }

  /** An integer parameter of the workload. */
  public long parameter(String name) {
    return parameters(name).asLong();
  }

  /** A string parameter of the workload. */
  public String textParameter(String name) {
    return parameters(name).asText();
  }

  /** A parameter of the workload that is a list of integers. */
  public int[] listParameter(String name) {
    return parameters(name).valueStream().mapToInt(JsonNode::asInt).toArray();
  }

  private JsonNode parameters(String name) {
    return json.required("parameters").required(name);
  }

  /** What the workload gives its programs besides the parameters. */
  public JsonNode data(String name) {
    return json.required("data").required(name);
  }

  /** Whether there are queues and a collector instead of Kafka. */
  public boolean usesQueues() {
    return json.required("transport").asText().equals("queue");
  }

  public String endpoint(String name) {
    return json.required("endpoints").required(name).asText();
  }

  public String bootstrap() {
    return endpoint("bootstrap");
  }

  /** The security of Kafka clients, from the file that the user has given; empty without one. */
  public Properties clientSettings() {
    Properties settings = new Properties();
    JsonNode file = json.required("endpoints").get("config");
    if (file != null) {
      Path path = Path.of(file.asText()).toAbsolutePath();
      try (Reader reader = Files.newBufferedReader(path)) {
        settings.load(reader);
      } catch (IOException problem) {
        throw new UncheckedIOException(problem);
      }
      settings.remove("bootstrap.servers");
      for (String name : List.of("ssl.truststore.location", "ssl.keystore.location")) {
        settings.computeIfPresent(name, (key, place) -> path.resolveSibling(place.toString()).toString());
      }
    }
    return settings;
  }

  /** The topic of an input stream. */
  public String input(String stream) {
    return json.required("inputs").required(stream).asText();
  }

  /** The topics of all input streams. */
  public List<String> inputs() {
    return topics("inputs");
  }

  /** The topics of all output streams, possibly none. */
  public List<String> outputs() {
    return topics("outputs");
  }

  /** The topic of the only output stream. */
  public String output() {
    return json.required("output").asText();
  }

  /** The name of the only output stream. */
  public String outputName() {
    return json.required("outputs").fieldNames().next();
  }

  private List<String> topics(String streams) {
    return json.required(streams).valueStream().map(JsonNode::asText).toList();
  }

  public int partitions() {
    return json.required("partitions").asInt();
  }

  /** The consumer group of the run. */
  public String group() {
    return json.required("group").asText();
  }

  public Path checkpointDir() {
    return Path.of(json.required("checkpoint_dir").asText());
  }

  /** A string option. */
  public String text(String option) {
    return option(option).asText();
  }

  /** An integer option. */
  public long number(String option) {
    return option(option).asLong();
  }

  /** A boolean option. */
  public boolean flag(String option) {
    return option(option).asBoolean();
  }

  /** An option that holds engine settings by their own names. */
  public Map<String, String> settings(String option) {
    Map<String, String> settings = new LinkedHashMap<>();
    option(option).properties().forEach(setting -> settings.put(setting.getKey(), setting.getValue().asText()));
    return settings;
  }

  private JsonNode option(String name) {
    return json.required("options").required(name);
  }
}
