/** Which of several sources of payload sends next. Not exported. */
package io.kcp4j.scheduling;
