package streamgauge.flink;

import java.nio.file.Path;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import streamgauge.Job;
import streamgauge.Programs;
import streamgauge.Protocol;
import streamgauge.flink.queue.QueueSink;

/** Builds the job described by job.json, its last argument, and submits it to the cluster that runs this class. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws Exception {
    try {
      Job job = Job.read(Path.of(arguments[arguments.length - 1]));
      StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment();
      Programs.find(job, Program.class).results(environment, job).sinkTo(sink(job)).name("output");
      environment.executeAsync(job.workload());
    } catch (Exception problem) {
      Protocol.failed(rootOf(problem).toString());
      throw problem;
    }
  }

  private static Sink<Tuple2<byte[], byte[]>> sink(Job job) {
    if (job.outputs().isEmpty()) {
      return new DiscardingSink<>();
    }
    return job.usesQueues() ? new QueueSink(job.endpoint("collector"), job.outputName()) : Topics.sink(job);
  }

  private static Throwable rootOf(Throwable problem) {
    return problem.getCause() == null ? problem : rootOf(problem.getCause());
  }
}
