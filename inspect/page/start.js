const views = [sentenceView, headsView, causesView, tryView, sideView, stepsView, circuitsView];
start();
