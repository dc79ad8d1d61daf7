package io.kcp4j.load;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;

/** What answers each line {@code mark}. Event loops add to it, one other thread answers. */
interface LoadReport {

  /** A line of JSON. What it reports of the time since the previous mark begins anew. */
  String toJson();

  /** Prints it for each line {@code mark}, until the input ends. */
  default void answerMarks(BufferedReader in, PrintStream out) throws IOException {
    for (String line; (line = in.readLine()) != null; ) {
      if (line.equals("mark")) {
        out.println(toJson());
      }
    }
  }
}
