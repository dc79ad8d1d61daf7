/** Writers of what a session does: as events of the JDK Flight Recorder, and as qlog. */
package io.kcp4j.trace;
