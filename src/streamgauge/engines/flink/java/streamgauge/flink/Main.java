package streamgauge.flink;

import java.nio.file.Path;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import streamgauge.Job;
import streamgauge.Protocol;

/** Builds the job that its last argument, job.json, asks for, and hands it to the cluster that runs this class. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    try {
      Job job = Job.read(Path.of(arguments[arguments.length - 1]));
      StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
      results(environment, job).sinkTo(Topics.sink(job)).name("output");
      environment.executeAsync(job.pipeline());
    } catch (Exception problem) {
      Protocol.failed(rootOf(problem).toString());
      throw problem;
    }
  }

  private static Throwable rootOf(Throwable problem) {
    return problem.getCause() == null ? problem : rootOf(problem.getCause());
  }

  /** Key and value of every result of the job's stage. */
  private static DataStream<Tuple2<byte[], byte[]>> results(StreamExecutionEnvironment environment, Job job) {
    boolean customised = job.text("implementation").equals("customised");
    return switch (job.stage()) {
      case "ingest" -> Ingest.results(environment, job);
      case "parse" -> Parse.results(environment, job);
      case "join" -> customised ? Customised.results(environment, job) : Join.results(environment, job);
      case "tumbling" -> customised ? Customised.results(environment, job) : Tumbling.results(environment, job);
      case "sliding" -> customised ? Customised.results(environment, job) : Sliding.results(environment, job);
      default -> throw new IllegalArgumentException("no such stage: " + job.stage());
    };
  }
}
