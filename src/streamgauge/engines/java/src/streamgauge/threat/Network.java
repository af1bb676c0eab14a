package streamgauge.threat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import streamgauge.Job;
import streamgauge.Json;

/** A neural network with one hidden layer. Everything but the score is computed in integers. */
public final class Network implements Serializable {
  private static final long serialVersionUID = 1L;

  private final int features;
  private final String[] classes;
  private final Layer hidden;
  private final Layer output;
  private final int shift;
  private final double unit;

  private Network(JsonNode json) {
    features = json.required("features").size();
    classes = json.required("classes").valueStream().map(JsonNode::asText).toArray(String[] ::new);
    hidden = Layer.of(json.required("hidden"));
    output = Layer.of(json.required("output"));
    shift = json.required("shift").asInt();
    unit = json.required("unit").asDouble();
  }

  public static Network of(Job job) {
    return new Network(job.data("network"));
  }

  /** Class and score of a record, as JSON. */
  public byte[] classify(byte[] record) {
    long[] inside = hidden.sums(inputs(record));
    for (int i = 0; i < inside.length; i++) {
      inside[i] = Math.max(inside[i], 0) >> shift;
    }
    long[] outputs = output.sums(inside);
    int best = 0;
    for (int i = 1; i < outputs.length; i++) {
      if (outputs[i] > outputs[best]) {
        best = i;
      }
    }
    double powers = 0;
    for (long one : outputs) {
      powers += Math.exp((one - outputs[best]) / unit);
    }
    String found = classes[best];
    double score = 1 / powers;
    return Json.object(json -> {
      json.writeStringField("class", found);
      json.writeNumberField("score", score);
    });
  }

  /** The logarithm of each feature. Throws NumberFormatException for a byte that is not a digit. */
  private long[] inputs(byte[] record) {
    long[] inputs = new long[features];
    int at = 0;
    for (int i = 0; i < features; i++, at++) {
      long number = 0;
      for (; record[at] != ','; at++) {
        if (record[at] < '0' || record[at] > '9') {
          throw new NumberFormatException("expected a digit, got byte " + record[at]);
        }
        number = 10 * number + record[at] - '0';
      }
      inputs[i] = logarithm(number + 1);
    }
    return inputs;
  }

  /** 256 × log2, linear between powers of two. */
  private static long logarithm(long positive) {
    int exponent = 63 - Long.numberOfLeadingZeros(positive);
    return 256L * exponent + ((positive << 8) >> exponent) - 256;
  }

  private record Layer(long[][] weights, long[] biases) implements Serializable {
    static Layer of(JsonNode json) {
      return new Layer(json.required("weights").valueStream().map(Layer::numbers).toArray(long[][] ::new),
          numbers(json.required("biases")));
    }

    private static long[] numbers(JsonNode list) {
      return list.valueStream().mapToLong(JsonNode::asLong).toArray();
    }

    long[] sums(long[] inputs) {
      long[] sums = biases.clone();
      for (int i = 0; i < sums.length; i++) {
        for (int j = 0; j < inputs.length; j++) {
          sums[i] += weights[i][j] * inputs[j];
        }
      }
      return sums;
    }
  }
}
