package streamgauge;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the lab asks for: the job file that the protocol describes. */
public final class Job implements Serializable {
  private static final long serialVersionUID = 1L;

  private final JsonNode json;

  private Job(JsonNode json) {
    this.json = json;
  }

  public static Job read(Path file) throws IOException {
    return new Job(Json.MAPPER.readTree(file.toFile()));
  }

  /** Study and stage, such as {@code ospbench/parse}. */
  public String pipeline() {
    return json.required("pipeline").asText();
  }

  public String stage() {
    String pipeline = pipeline();
    return pipeline.substring(pipeline.indexOf('/') + 1);
  }

  public long parameter(String name) {
    return json.required("parameters").required(name).asLong();
  }

  public String bootstrap() {
    return json.required("endpoints").required("bootstrap").asText();
  }

  /** The topic of an input stream: {@code flow} or {@code speed}. */
  public String input(String stream) {
    return json.required("inputs").required(stream).asText();
  }

  /** The topics of all input streams. */
  public List<String> inputs() {
    List<String> topics = new ArrayList<>();
    json.required("inputs").forEach(topic -> topics.add(topic.asText()));
    return topics;
  }

  public String output() {
    return json.required("output").asText();
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

  /** An option that is a text. */
  public String text(String option) {
    return option(option).asText();
  }

  /** An option that is a whole number. */
  public long number(String option) {
    return option(option).asLong();
  }

  /** An option that is yes or no. */
  public boolean flag(String option) {
    return option(option).asBoolean();
  }

  /** An option that holds settings of the engine by their own names. */
  public Map<String, String> settings(String option) {
    Map<String, String> settings = new LinkedHashMap<>();
    option(option).properties().forEach(setting -> settings.put(setting.getKey(), setting.getValue().asText()));
    return settings;
  }

  private JsonNode option(String name) {
    return json.required("options").required(name);
  }
}
